"""Provenance in the forms of others: W3C PROV, RO-Crate, in-toto."""
