"""Translations of TFLite operators, by family."""
