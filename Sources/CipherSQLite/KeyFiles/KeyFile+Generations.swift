// The data keys that a key file has had: which there are, what was seen under them, and how one is forgotten.

public import Foundation

extension KeyFile {
  /// One of the data keys of a file: the present one, or one that a rotation replaced and that stays for the sake of backups,
  /// other databases, and copies.
  public struct Generation: Sendable, Hashable {
    /// Which one it is, counted from 1.
    public let number: Int
    /// When another took its place; nil for the present one.
    public let retired: Date?
    /// Absolute paths of files that were last seen under it, the latest first, at most 8. Files may have been moved since, and
    /// there may be others. Empty for the present one, of which nothing is noted.
    public let files: [String]

    /// Whether it is the present one.
    public var isCurrent: Bool { retired == nil }
  }

  /// The data keys of a key file, the present one first, then the others from the latest on. Needs no secret, and proves nothing
  /// about the file but its checksum.
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

  /// Removes a former data key. What is still encrypted with it cannot be opened any more with this file: ask
  /// ``generation(of:)`` of what may be.
  /// - Parameter number: The number of a ``Generation`` that is not the present one.
  /// - Throws: ``SQLError/noSuchGeneration(file:number:available:)``; as ``removeSlot(_:)``.
  public func forgetGeneration(_ number: Int) throws {
    try change(isRevoking: true) { format in
      guard let index = format.formerKeys.firstIndex(where: { $0.number == UInt64(clamping: number) }) else {
        throw SQLError.noSuchGeneration(
          file: path, number: number, available: format.formerKeys.map { Int(clamping: $0.number) })
      }
      format.formerKeys.remove(at: index)
    }
  }

  /// Records the data key under which files were last seen. A courtesy: where the key file cannot be written at the moment, nothing
  /// is recorded.
  /// - Parameters:
  ///   - paths: Absolute paths.
  ///   - number: The number of a ``Generation``; nil for the present one, which keeps no list: the paths are only removed from the
  ///     others.
  package func note(_ paths: [String], under number: Int?) {
    guard let format = try? authentic(), format.noting(paths, under: number) != nil else { return }
    try? locked(waiting: 0) { lock in
      guard let format = try authentic().noting(paths, under: number) else { return }
      try write(format, dataKey: dataKey, previous: .asItIs, under: lock)
    }
  }

  /// The former data keys, the latest first.
  func formerKeys() throws -> [(number: UInt64, key: SecureBytes)] { try formerKeys(authentic()) }

  func formerKeys(_ format: KeyFileFormat) throws -> [(number: UInt64, key: SecureBytes)] {
    try format.formerKeys.reversed().map {
      guard let key = try format.opened($0, with: dataKey) else { throw $0.unsealable(in: path) }
      return ($0.number, key)
    }
  }
}

extension KeyFileFormat {
  /// The format with files in the list of one data key and in no other; nil if that is so already.
  fileprivate func noting(_ paths: [String], under number: Int?) -> KeyFileFormat? {
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
