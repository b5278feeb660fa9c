// A key file as the key of a database.

extension Key {
  /// The data key of a ``KeyFile``, opened with one of its secrets when a database is opened.
  ///
  /// A database that is made gets the present data key. One that exists is opened with the present one or, when it is not
  /// under that, with a former one (``KeyFile/Generation``). A rotation of the data key that was interrupted is finished then.
  public static func keyFile(_ path: String, unlock: KeyFile.Unlock) -> Key {
    Key(material: .kept(KeyInFile(path: path, secret: unlock)))
  }
}

private struct KeyInFile: KeyKeeper {
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
    } catch SQLError.wrongKey(let given) {
      // A rotation may have been interrupted after the database had got its new key. That it fits is proved by the
      // engine, which reads the log too; only then the rotation is finished.
      if let pending = try KeyFile.pendingKey(at: path, unlock: secret),
        let result = try whereItFits(.raw(pending), body)
      {
        if fits != nil { try file.finishRotation(pending) }
        return result
      }
      for (number, key) in try file.formerKeys() {
        guard let result = try whereItFits(.raw(key), body) else { continue }
        if fits != nil { file.note([database], under: Int(clamping: number)) }
        return result
      }
      throw SQLError.wrongKey(file: given)
    }
  }

  /// What `body` returns; nil where the key is the wrong one.
  private func whereItFits<Result>(_ key: Key, _ body: (Key) throws -> Result) throws -> Result? {
    do { return try body(key) } catch SQLError.wrongKey { return nil }
  }
}
