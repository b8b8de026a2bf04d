"""Results as tables."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa


class Tidy:
    """What can be told in rows."""

    __slots__ = ()

    def rows(self) -> list[dict[str, Any]]:
        """Tidy rows."""
        raise NotImplementedError

    def to_arrow(self) -> pa.Table:
        """Tidy rows as an Arrow table."""
        import pyarrow as pa

        return pa.Table.from_pylist(self.rows())

    def to_frame(self) -> pd.DataFrame:
        """Tidy rows as a pandas frame; ``polars.DataFrame(result.to_arrow())`` for polars."""
        import pandas as pd

        frame: pd.DataFrame = pd.DataFrame(self.rows())
        return frame

    def to_csv(self) -> str:
        """Tidy rows as CSV, full precision, undefined values empty."""
        from calipers.report.text import csv_text

        return csv_text(self.rows())
