// Authorization of what statements may do, action by action.

private import CSQLCipher

extension Connection {
  /// Runs `body`. Until it returns, `answer` decides on every action of each statement that is prepared.
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
  ///   - answer: Called for each action, on the connection's own thread. It must not use the connection.
  ///   - body: Prepares and runs the statements.
  /// - Returns: What `body` returns.
  /// - Throws: What `body` throws; for a denied statement that is
  ///   ``SQLError/engine(code:extendedCode:message:sql:)``.
  public func withAuthorizer<Result>(
    _ answer: @escaping (AuthorizerAction) -> AuthorizerAnswer, body: () throws -> Result
  ) throws -> Result {
    try withAuthorizer(naming: { action, _ in answer(action) }, body: body)
  }

  /// Runs `body` with an authorizer that has a second argument: the name of the view or trigger that causes
  /// the action, or nil if the statement itself causes it.
  package func withAuthorizer<Result>(
    naming answer: @escaping (AuthorizerAction, String?) -> AuthorizerAnswer, body: () throws -> Result
  ) throws -> Result {
    let handle = try unsafe opened()
    // Cached statements were prepared without the authorizer and would bypass it.
    unsafe cache.removeAll()
    let outer = authorizer
    authorizer = answer
    unsafe sqlite3_set_authorizer(
      handle,
      { data, action, first, second, _, object in
        guard let data = unsafe data else { return SQLITE_DENY }
        // Unretained: the connection outlives any call that prepares one of its statements.
        let connection = unsafe Unmanaged<Connection>.fromOpaque(data).takeUnretainedValue()
        let action = unsafe AuthorizerAction(
          code: action, first: first.map { unsafe String(cString: $0) },
          second: unsafe second.map { unsafe String(cString: $0) })
        let object = unsafe object.map { unsafe String(cString: $0) }
        if case .read(let table, let column) = action { connection.readRegion?.add(column, of: table) }
        return (connection.authorizer?(action, object) ?? .allow).code
      }, unsafe Unmanaged.passUnretained(self).toOpaque())
    defer {
      authorizer = outer
      // If the connection was closed meanwhile, there is no handle left to reset.
      if let handle = unsafe self.handle {
        // A statement that was prepared with the answer `.ignore` would still return NULL for the column.
        unsafe cache.removeAll()
        if outer == nil { unsafe sqlite3_set_authorizer(handle, nil, nil) }
      }
    }
    return try body()
  }
}
