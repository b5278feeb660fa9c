// Lets a key file be used as the key of a database.

extension Key {
  /// The data key of a ``KeyFile``, as the key of a database. Whenever a database is opened with it, the
  /// key file is opened with the secret `unlock`.
  ///
  /// A new database gets the present data key. An existing one is opened with the present key or, if that
  /// does not fit, with a former one (``KeyFile/Generation``). Opening a database for writing also
  /// finishes an interrupted rotation of the data key if the database has the new key, and abandons it if
  /// the database has the present one.
  ///
  /// - Parameters:
  ///   - path: The key file.
  ///   - unlock: A secret of one of its slots.
  public static func keyFile(_ path: String, unlock: KeyFile.Unlock) -> Key {
    Key(material: .kept(KeyInFile(path: path, secret: unlock)))
  }
}

private struct KeyInFile: StoredKey {
  let path: String
  let secret: KeyFile.Unlock

  var description: String { "key file \(path)" }

  func dataKey() throws -> SecureBytes { try KeyFile.open(at: path, unlock: secret).dataKey }

  func unlock<Result>(
    _ database: String, settling fits: ((Key, Result) -> Bool)?, _ body: (Key) throws -> Result
  ) throws -> Result {
    let file = try KeyFile.open(at: path, unlock: secret)
    do {
      let result = try body(file.key)
      if let fits {
        file.abandonRotation(secret) { fits($0, result) }
        file.note([database], under: nil)
      }
      return result
    } catch let error as SQLError where error.mayFitOtherKey {
      // A rotation may have been interrupted after the database got its new key. The engine, which also
      // reads the log, proves that the key fits; only then is the rotation finished.
      if let pending = try KeyFile.pendingKey(at: path, unlock: secret),
        let result = try resultIfKeyFits(.raw(pending), body)
      {
        if fits != nil { try file.finishRotation(pending) }
        return result
      }
      for (number, key) in try file.formerKeys() {
        guard let result = try resultIfKeyFits(.raw(key), body) else { continue }
        if fits != nil { file.note([database], under: Int(clamping: number)) }
        return result
      }
      throw error
    }
  }

  /// Returns the result of `body`; nil where the key is the wrong one.
  private func resultIfKeyFits<Result>(_ key: Key, _ body: (Key) throws -> Result) throws -> Result? {
    do { return try body(key) } catch let error as SQLError where error.mayFitOtherKey {
      return nil
    }
  }
}
