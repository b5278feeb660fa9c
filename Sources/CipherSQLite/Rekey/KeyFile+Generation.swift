// Determines which data key of a key file a database is encrypted under.

extension KeyFile {
  /// Returns the number of the data key of this file that opens a database.
  ///
  /// Reads some pages of the database without opening a connection. This takes some milliseconds for each
  /// data key.
  /// - Parameter database: The path of the database, which is not changed.
  /// - Returns: The number of the ``Generation``; nil when no data key opens the database, when it is not
  ///   encrypted, or when its header is in clear, so that its salt is not in the file.
  /// - Throws: ``SQLError/notFound(file:)``; ``SQLError/keyFileDamaged(file:reason:)`` when the key file
  ///   is damaged, or was replaced or got another data key since it was opened.
  public func generation(of database: String) throws -> Int? {
    let file = try DatabasePath(database)
    try PathState.existing(file)
    let format = try authentic()
    for (number, key) in [(format.number, dataKey)] + (try formerKeys(format)) {
      let candidates = KeyCandidates(.raw(key), known: nil)
      let state = try FileProbe(file, seconds: nil).state(
        .raw(key), candidates, known: nil, isThorough: false)
      switch state {
      case .open, .unusable, .unauthenticated, .damaged: return Int(clamping: number)
      case .locked: continue
      case .plain, .foreign, .saltMissing: return nil
      }
    }
    return nil
  }
}
