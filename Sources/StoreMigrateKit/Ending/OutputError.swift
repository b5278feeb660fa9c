// What ends a command that writes rows while it reads them.

/// Whoever read the output has enough of it: no error, and nothing is said.
struct ReaderGone: Error {}

/// Rows that could not be written.
struct OutputError: Error, CustomStringConvertible {
  let description: String
}
