// Opens a file of another program, encrypted or not, for reading. Neither the file nor any file next to it
// is changed.

/// A file of another program, opened for reading, with the resources that this needed.
package final class ForeignFile {
  /// The connection, which can only read.
  package let connection: Connection
  /// The path that the caller gave.
  package let path: String
  /// Whether the file is encrypted.
  package let isEncrypted: Bool
  private let inspection: Inspection?
  private let copy: InspectionCopy?

  /// Opens the file. A clear-text file that keeps a log, or has a journal with content, is first copied
  /// into a private folder, which is deleted with this object: to read these in place, the engine would
  /// have to write.
  /// - Parameters:
  ///   - path: The file.
  ///   - key: Its key; ignored for a clear-text file, which needs none.
  ///   - busyTimeout: How long to wait for another connection's lock, in seconds.
  ///   - profile: Its settings, as in ``Connection/Configuration/profile``.
  /// - Throws: ``SQLError``, as ``Inspection/init(path:key:busyTimeout:profile:immutable:)``;
  ///   ``SQLError/notADatabase(file:reason:)`` for a file that is none, or needs a key; the engine's
  ///   error for a file whose tables it cannot read, because it is damaged or was made by a newer engine.
  package init(path: String, key: Key?, busyTimeout: Double = 5, profile: CipherProfile? = nil) throws {
    let file = try DatabasePath(path)
    try PathState.existing(file)
    let header = try RawFile.open(file).read(20, at: 0) ?? []
    let isEncrypted =
      profile?.clearHeaderBytes ?? 0 > 0 || !header.starts(with: Array("SQLite format 3\0".utf8))
    (self.path, self.isEncrypted) = (path, isEncrypted)
    guard !isEncrypted else {
      guard let key else {
        throw SQLError.notADatabase(
          file: file.given,
          reason: "it is not an unencrypted SQLite file; if it is encrypted, give its key")
      }
      let inspection = try Inspection(path: path, key: key, busyTimeout: busyTimeout, profile: profile)
      (self.inspection, copy, connection) = (inspection, nil, inspection.connection)
      try connection.acceptUnknownCollations()
      return
    }
    inspection = nil
    // Byte 19 of the header, the read version: 2 means that the file keeps a write-ahead log.
    let isCopied = InspectionCopy.isNeeded(file) || header.last == 2
    copy = isCopied ? try InspectionCopy(of: file, seconds: busyTimeout) : nil
    connection = try Connection.plain(
      copy?.file ?? file, access: isCopied ? .readWrite : .readOnly, busyTimeout: busyTimeout)
    do {
      try connection.acceptUnknownCollations()
      // The first read rolls a journal back, in the copy.
      _ = try connection.value("SELECT count(*) FROM sqlite_master")
      try connection.executeScript("PRAGMA query_only = ON")
    } catch SQLError.engine(let code, _, let message, _) where code == 26 {
      throw SQLError.notADatabase(file: file.given, reason: message)
    }
  }

  deinit { if inspection == nil { connection.close() } }
}
