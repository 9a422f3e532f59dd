"""Any number, traced and recomputed: what reads lineage back."""
