// Opens an .om file with Netron's reader, without a browser, and prints what it sees as JSON.
// Usage: node netron_driver.mjs FOLDER FILE, where FOLDER holds Netron's scripts and a package.json that makes
// them ES modules.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

const [folder, file] = process.argv.slice(2);
const load = (name) => import(pathToFileURL(join(folder, `${name}.js`)).href);
const base = await load('base');
const om = await load('om');

class Context {

    constructor(bytes) {
        this.stream = new base.BinaryStream(bytes);
    }

    set(type, value) {
        this.type = type;
        this.value = value;
        return type;
    }

    async metadata(name) {
        const types = new Map(JSON.parse(readFileSync(join(folder, name), 'utf-8')).map((type) => [type.name, type]));
        return { type: (name) => types.get(name) };
    }

    async require(name) {
        return load(name);
    }
}

const context = new Context(new Uint8Array(readFileSync(file)));
const factory = new om.ModelFactory();
if (!factory.match(context)) {
    throw new Error('Netron does not recognise the file.');
}
const model = await factory.open(context);
const type = (value) => value.type && { dtype: value.type.dataType, shape: value.type.shape.dimensions };
const values = (list) => list.map((argument) => argument.value.map((value) => ({
    name: value.name,
    type: type(value),
    bytes: value.initializer ? Array.from(value.initializer.values || []) : null
})));
const plain = (key, value) => (typeof value === 'bigint' ? value.toNumber() : value);
console.log(JSON.stringify({
    format: model.format,
    modules: model.modules.map((graph) => ({
        name: graph.name,
        nodes: graph.nodes.map((node) => ({
            name: node.name,
            type: node.type.name,
            inputs: values(node.inputs),
            outputs: values(node.outputs),
            attributes: Object.fromEntries(node.attributes.map((attribute) => [attribute.name, attribute.value]))
        }))
    }))
}, plain));
