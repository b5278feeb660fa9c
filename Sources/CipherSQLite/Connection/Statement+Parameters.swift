// Binds parameters by position or by name, and reads columns as Swift types.

private import CSQLCipher

extension Statement {
  /// Returns the name of a parameter with its prefix, such as `:name`.
  /// - Parameter index: The parameter, counted from 1.
  /// - Returns: The name; nil for a parameter without one (`?`).
  public func parameterName(_ index: Int) -> String? {
    unsafe sqlite3_bind_parameter_name(raw, Int32(index)).map { unsafe String(cString: $0) }
  }

  /// Binds all parameters. Dates are stored as the connection's ``DateStrategy`` defines.
  ///
  /// - Parameter arguments: The values, by position or by name.
  /// - Throws: ``SQLError/parameterCount(expected:found:sql:)`` for a wrong number of values;
  ///   ``SQLError/parameterNames(missing:unknown:sql:)`` with every name that has no value, and every
  ///   name that the statement does not have.
  public func bind(_ arguments: SQLArguments) throws {
    switch arguments.content {
    case .positional(let values):
      guard values.count == parameterCount else {
        throw SQLError.parameterCount(expected: parameterCount, found: values.count, sql: sql)
      }
      for (index, value) in values.enumerated() { try bind(value.sqlValue(dates: dates), at: index + 1) }
    case .named(let values): try bind(values)
    }
  }

  private func bind(_ values: [String: any SQLConvertible]) throws {
    var unused = Set(values.keys)
    var missing: [String] = []
    for index in stride(from: 1, through: parameterCount, by: 1) {
      // A gap in numbered parameters (?1, ?3) counts as a parameter without a name.
      guard let name = parameterName(index) else {
        missing.append("?\(index)")
        continue
      }
      let plain = String(name.dropFirst())
      guard let value = values[name] ?? values[plain] else {
        missing.append(name)
        continue
      }
      unused.subtract([name, plain])
      try bind(value.sqlValue(dates: dates), at: index)
    }
    guard missing.isEmpty, unused.isEmpty else {
      throw SQLError.parameterNames(missing: missing, unknown: unused.sorted(), sql: sql)
    }
  }

  /// Returns the column names and the date strategy, which all rows of the result share.
  func header(dates: DateStrategy) -> Row.Header {
    Row.Header(names: (0..<columnCount).map(columnName), dates: dates)
  }

  /// Whether running the statement leaves the database unchanged (`sqlite3_stmt_readonly`).
  public var isReadOnly: Bool { unsafe sqlite3_stmt_readonly(raw) != 0 }

  /// Returns a column of the current row as a Swift value.
  /// - Parameters:
  ///   - index: The column, counted from 0.
  ///   - type: The type of the value.
  /// - Returns: The value.
  /// - Throws: ``SQLError/columnType(column:expected:found:)`` if it is not a `Value`.
  public func get<Value: SQLConvertible>(_ index: Int, as type: Value.Type = Value.self) throws -> Value {
    let found = value(index)
    if let value = Value.from(found, dates: dates) { return value }
    throw SQLError.columnType(
      column: columnName(index), expected: "\(type)", found: found.storageClass)
  }
}
