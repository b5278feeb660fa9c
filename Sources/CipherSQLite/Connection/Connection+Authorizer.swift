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
    try withAuthorizer(naming: { action, _ in answer(action) }, body: body)
  }

  /// The same, where `answer` is told the view or the trigger that wants the action; nil for the statement itself.
  package func withAuthorizer<Result>(
    naming answer: @escaping (AuthorizerAction, String?) -> AuthorizerAnswer, body: () throws -> Result
  ) throws -> Result {
    let handle = try unsafe opened()
    // Cached statements were prepared without the authorizer: they must not slip through.
    unsafe cache.removeAll()
    authorizer = answer
    unsafe sqlite3_set_authorizer(
      handle,
      { data, action, first, second, _, object in
        guard let data = unsafe data else { return SQLITE_DENY }
        // The connection outlives the call that prepares a statement of it.
        let connection = unsafe Unmanaged<Connection>.fromOpaque(data).takeUnretainedValue()
        let action = unsafe AuthorizerAction(
          code: action, first: first.map { unsafe String(cString: $0) },
          second: unsafe second.map { unsafe String(cString: $0) })
        let object = unsafe object.map { unsafe String(cString: $0) }
        return (connection.authorizer?(action, object) ?? .allow).code
      }, unsafe Unmanaged.passUnretained(self).toOpaque())
    defer {
      // Closed meanwhile, there is nobody left to be told.
      if let handle = unsafe self.handle { unsafe sqlite3_set_authorizer(handle, nil, nil) }
      authorizer = nil
    }
    return try body()
  }
}
