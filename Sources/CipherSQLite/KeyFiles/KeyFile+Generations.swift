// Lists the data keys that a key file has had, records which files were seen under them, and removes
// former ones.

public import Foundation

extension KeyFile {
  /// One of the data keys of a file: the present one, or a former one that a rotation replaced. Former
  /// keys stay for backups, other databases, and copies.
  public struct Generation: Sendable, Hashable {
    /// The number of the data key, counted from 1.
    public let number: Int
    /// When another key replaced it; nil for the present one.
    public let retired: Date?
    /// Absolute paths of files that were last seen under this key, the latest first, at most 8. Files may
    /// have been moved since, and there may be others. Empty for the present key, for which no files are
    /// recorded.
    public let files: [String]

    /// Whether it is the present key.
    public var isCurrent: Bool { retired == nil }
  }

  /// Returns the data keys of a key file: the present one, then the former ones, the latest first.
  ///
  /// Needs no secret, and verifies only the file's checksum.
  /// - Throws: ``SQLError/notFound(file:)``, ``SQLError/keyFileDamaged(file:reason:)``.
  public static func generations(at path: String) throws -> [Generation] {
    let format = try KeyFileFormat(read(DatabasePath(path)), path: path)
    return [Generation(number: Int(clamping: format.number), retired: nil, files: [])]
      + format.formerKeys.reversed().map {
        Generation(
          number: Int(clamping: $0.number), retired: Date(timeIntervalSince1970: Double($0.retired)),
          files: $0.files)
      }
  }

  /// Removes a former data key.
  ///
  /// Files that are still encrypted with it cannot be opened with this key file any more: check them with
  /// ``generation(of:)`` first.
  /// - Parameter number: The number of a ``Generation`` that is not the present one.
  /// - Throws: ``SQLError/noSuchGeneration(file:number:available:)``;
  ///   ``SQLError/keyFileDamaged(file:reason:)`` and ``SQLError/busy(file:waitedSeconds:holders:)``, as
  ///   ``addSlot(_:unlock:work:)``.
  public func forgetGeneration(_ number: Int) throws {
    try change(isRevoking: true) { format in
      guard let index = format.formerKeys.firstIndex(where: { $0.number == UInt64(clamping: number) }) else {
        throw SQLError.noSuchGeneration(
          file: path, number: number, available: format.formerKeys.map { Int(clamping: $0.number) })
      }
      format.formerKeys.remove(at: index)
    }
  }

  /// Records the data key under which files were last seen. Best effort: if the key file cannot be
  /// written at the moment, nothing is recorded.
  /// - Parameters:
  ///   - paths: Absolute paths.
  ///   - number: The number of a ``Generation``; nil for the present one, which keeps no list: the paths
  ///     are only removed from the lists of the others.
  package func note(_ paths: [String], under number: Int?) {
    guard let format = try? authentic(), format.recordingFiles(paths, under: number) != nil else { return }
    try? locked(waiting: 0) { lock in
      guard let format = try authentic().recordingFiles(paths, under: number) else { return }
      try write(format, dataKey: dataKey, previous: .asItIs, under: lock)
    }
  }

  /// Returns the former data keys, the latest first.
  func formerKeys() throws -> [(number: UInt64, key: SecureBytes)] { try formerKeys(authentic()) }

  func formerKeys(_ format: KeyFileFormat) throws -> [(number: UInt64, key: SecureBytes)] {
    try format.formerKeys.reversed().map {
      guard let key = try format.opened($0, with: dataKey) else { throw $0.undecryptableError(in: path) }
      return ($0.number, key)
    }
  }
}

extension KeyFileFormat {
  /// Returns the format with the paths in the list of one data key and in no other; nil if nothing
  /// changes.
  fileprivate func recordingFiles(_ paths: [String], under number: Int?) -> KeyFileFormat? {
    var format = self
    for index in formerKeys.indices {
      let isUnder = formerKeys[index].number == number.map { UInt64(clamping: $0) }
      for path in paths where formerKeys[index].files.contains(path) != isUnder {
        if isUnder { format.formerKeys[index].note(path) } else { format.formerKeys[index].forget(path) }
      }
    }
    return format.formerKeys.map(\.files) == formerKeys.map(\.files) ? nil : format
  }
}
