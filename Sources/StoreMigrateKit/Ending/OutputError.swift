// The errors that end a command which writes rows while it reads them.

/// The reader of the output has closed it. This is not a failure, and no message is printed.
struct ReaderGone: Error {}

/// Rows could not be written.
struct OutputError: Error, CustomStringConvertible {
  let description: String
}
