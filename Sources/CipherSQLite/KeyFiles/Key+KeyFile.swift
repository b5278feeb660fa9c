// A key file as the key of a database.

extension Key {
  /// The data key of a ``KeyFile``, opened with one of its secrets when a database is opened. A rotation of the
  /// data key that was interrupted is finished then.
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
    settling fits: ((Key, Result) -> Bool)?, _ body: (Key) throws -> Result
  ) throws -> Result {
    let file = try KeyFile.open(at: path, unlock: secret)
    do {
      let result = try body(file.key)
      if let fits { file.abandonRotation { fits($0, result) } }
      return result
    } catch SQLError.wrongKey(let database) {
      // A rotation may have been interrupted after the database had got its new key. That it fits is proved by the
      // engine, which reads the log too; only then the old key may go.
      guard let pending = try KeyFile.pendingKey(at: path, unlock: secret) else {
        throw SQLError.wrongKey(file: database)
      }
      let result = try body(.raw(pending))
      if fits != nil { try file.finishRotation(pending) }
      return result
    }
  }
}
