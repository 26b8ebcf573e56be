"""Index a collection with tantivy, as `bench/search.py --build` asks; prints the seconds.

Reading the documents is not counted, which favours tantivy. Run: tantivy_build.py FOLDER TARGET
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

import polars as pl
import tantivy


def main() -> None:
    """Build with tantivy's English analyser, on all cores."""
    folder, target = Path(sys.argv[1]), sys.argv[2]
    columns = ("doc_id", "title", "abstract", "keywords")
    table = pl.read_parquet(folder / "documents.parquet", columns=columns)
    builder = tantivy.SchemaBuilder()
    builder.add_text_field("doc_id", stored=True, tokenizer_name="raw")
    for name in columns[1:]:
        builder.add_text_field(name, stored=False, tokenizer_name="en_stem")
    index = tantivy.Index(builder.build(), path=target)
    started = time.perf_counter()
    writer = index.writer(heap_size=300_000_000, num_threads=2)
    for doc_id, title, abstract, keywords in table.iter_rows():
        writer.add_document(
            tantivy.Document(
                doc_id=doc_id,
                title=title or "",
                abstract=abstract or "",
                keywords=" ; ".join(keywords or ()),
            )
        )
    writer.commit()
    writer.wait_merging_threads()
    print(f"{time.perf_counter() - started:.1f}")


if __name__ == "__main__":
    main()
