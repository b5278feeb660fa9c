// A database at a moment, with what lies beside it: whether somebody has written between two looks.

/// The state of a database at a moment: when two of them are equal, nothing was written between them.
struct FileMark: Equatable {
  private let parts: [FileStatus?]

  init(_ file: DatabasePath) {
    // Not the -shm, which readers write too.
    parts = [file.path, file.log, file.journal].map { FileStatus($0) }
  }

  /// Whether it is the same file, whatever was written to it; or at both moments none.
  func isSameFile(as other: FileMark) -> Bool {
    guard let one = parts[0], let another = other.parts[0] else {
      return parts[0] == nil && other.parts[0] == nil
    }
    return one.isSameFile(as: another)
  }
}
