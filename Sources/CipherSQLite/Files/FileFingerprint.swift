// The state of a database and its companions at one moment, to detect writes between two moments.

/// The state of a database at one moment: when two states are equal, nothing was written between them.
struct FileFingerprint: Equatable {
  private let parts: [FileStatus?]

  init(_ file: DatabasePath) {
    // Without the -shm: readers write to it as well.
    parts = [file.path, file.log, file.journal].map { FileStatus($0) }
  }

  /// Whether both states are of the same file, even if it was written to in between. Also true if no file
  /// existed at either moment.
  func isSameFile(as other: FileFingerprint) -> Bool {
    guard let one = parts[0], let another = other.parts[0] else {
      return parts[0] == nil && other.parts[0] == nil
    }
    return one.isSameFile(as: another)
  }
}
