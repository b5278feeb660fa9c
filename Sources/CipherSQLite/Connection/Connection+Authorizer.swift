// Who is asked, action by action, what a statement may do.

private import CSQLCipher

extension Connection {
  /// Runs `body` while every statement that is prepared must be allowed, action by action.
  ///
  /// ```swift
  /// let count = try connection.withAuthorizer { action in
  ///   switch action {
  ///   case .select, .read, .function: .allow
  ///   default: .deny
  ///   }
  /// } body: {
  ///   try connection.value("SELECT count(*) FROM person")
  /// }
  /// ```
  /// - Parameters:
  ///   - answer: Asked for each action, on the connection's own thread. It must not use the connection.
  ///   - body: Prepares and runs the statements.
  /// - Throws: What `body` throws: of a statement that was denied,
  ///   ``SQLError/engine(code:extendedCode:message:sql:)``.
  public func withAuthorizer<Result>(
    _ answer: @escaping (AuthorizerAction) -> AuthorizerAnswer, body: () throws -> Result
  ) throws -> Result {
    let handle = try opened()
    // Cached statements were prepared without the authorizer: they must not slip through.
    cache.removeAll()
    authorizer = answer
    sqlite3_set_authorizer(
      handle,
      { data, action, first, second, _, _ in
        guard let data else { return SQLITE_DENY }
        // The connection outlives the call that prepares a statement of it.
        let connection = Unmanaged<Connection>.fromOpaque(data).takeUnretainedValue()
        let action = AuthorizerAction(
          code: action, first: first.map { String(cString: $0) }, second: second.map { String(cString: $0) })
        return (connection.authorizer?(action) ?? .allow).code
      }, Unmanaged.passUnretained(self).toOpaque())
    defer {
      // Closed meanwhile, there is nobody left to be told.
      if let handle = self.handle { sqlite3_set_authorizer(handle, nil, nil) }
      authorizer = nil
    }
    return try body()
  }
}
