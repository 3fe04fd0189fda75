// Package export writes the live rows of a collection as Parquet, one file a
// partition, for pandas, DuckDB and whatever else reads Parquet.
package export
