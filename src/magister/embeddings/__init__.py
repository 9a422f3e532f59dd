"""An embedding: a text as a vector of length 1, from a model on this machine, an endpoint, or hashed words.

`embed_texts` asks for nothing that the store already holds.
"""

from magister.embeddings._embed import Embedded, Vectors, embed_texts, unit_rows
from magister.embeddings._engine import Embedder, Embedding, create_embedder
from magister.embeddings._fingerprints import embedder_fingerprint
from magister.embeddings._rows import embedding_key
from magister.embeddings.vectors import (
    VectorFile,
    broken_rows,
    find_rows,
    open_vectors,
    vector_table,
    write_vectors,
)

__all__ = [
    "Embedded",
    "Embedder",
    "Embedding",
    "VectorFile",
    "Vectors",
    "broken_rows",
    "create_embedder",
    "embed_texts",
    "embedder_fingerprint",
    "embedding_key",
    "find_rows",
    "open_vectors",
    "unit_rows",
    "vector_table",
    "write_vectors",
]
