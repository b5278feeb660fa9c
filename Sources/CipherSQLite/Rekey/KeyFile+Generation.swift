// Which data key of a key file a database is under.

extension KeyFile {
  /// Which data key of this file opens a database.
  ///
  /// Reads some pages of the database and opens nothing with the engine: some milliseconds for each data key.
  /// - Parameter database: The database, which is not changed.
  /// - Returns: The number of the ``Generation``; nil when none opens it, when it is no encrypted file, or when its header is in
  ///   clear, so that its salt is not in it.
  /// - Throws: ``SQLError/notFound(file:)``; ``SQLError/keyFileDamaged(file:reason:)`` when the key file has changed since it was
  ///   opened.
  public func generation(of database: String) throws -> Int? {
    let file = try DatabasePath(database)
    try PathState.existing(file)
    let format = try authentic()
    for (number, key) in [(format.number, dataKey)] + (try formerKeys(format)) {
      let candidates = KeyCandidates(.raw(key), known: nil)
      let state = try FileLook(file, seconds: nil).state(
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
