// A file that another program made, opened for looking: in clear or encrypted. No byte of it changes, and no file beside it.

/// A file of another program, open for looking, with whatever it needed to be opened.
package final class ForeignFile {
  /// The connection, which reads alone.
  package let connection: Connection
  /// The path that was asked for.
  package let path: String
  /// Whether it has a key.
  package let isEncrypted: Bool
  private let inspection: Inspection?
  private let copy: InspectionCopy?

  /// Opens it. One in clear with content in a log or a journal is copied into a private folder first, which goes with this
  /// object: to read those where they lie, the engine would write.
  /// - Parameters:
  ///   - path: The file.
  ///   - key: Its key; nil for one in clear, where a key is not used either.
  ///   - busyTimeout: How long to wait for somebody else's lock, in seconds.
  ///   - profile: Its settings, as in ``Connection/Configuration/profile``.
  /// - Throws: ``SQLError``, as ``Inspection/init(path:key:busyTimeout:profile:immutable:)``;
  ///   ``SQLError/notADatabase(file:reason:)`` for a file that is none, or needs a key; the engine's error for one whose
  ///   tables it cannot read, because it is damaged or of a newer engine.
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
          reason: "it is not a plain SQLite file; if it is encrypted, its key has to be given")
      }
      let inspection = try Inspection(path: path, key: key, busyTimeout: busyTimeout, profile: profile)
      (self.inspection, copy, connection) = (inspection, nil, inspection.connection)
      try connection.acceptUnknownCollations()
      return
    }
    inspection = nil
    // The byte says that the file keeps a log.
    let isCopied = InspectionCopy.isNeeded(file) || header.last == 2
    copy = isCopied ? try InspectionCopy(of: file, seconds: busyTimeout) : nil
    connection = try Connection.plain(
      copy?.file ?? file, access: isCopied ? .readWrite : .readOnly, busyTimeout: busyTimeout)
    do {
      try connection.acceptUnknownCollations()
      // The first read puts a journal back, into the copy.
      _ = try connection.value("SELECT count(*) FROM sqlite_master")
      try connection.executeScript("PRAGMA query_only = ON")
    } catch SQLError.engine(let code, _, let message, _) where code == 26 {
      throw SQLError.notADatabase(file: file.given, reason: message)
    }
  }

  deinit { if inspection == nil { connection.close() } }
}
