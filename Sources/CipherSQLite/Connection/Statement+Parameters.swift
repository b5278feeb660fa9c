// Binding by position and by name, and typed columns.

private import CSQLCipher

extension Statement {
  /// The name of parameter `index`, counted from 1, with its sign, such as `:name`; nil for `?`.
  public func parameterName(_ index: Int) -> String? {
    unsafe sqlite3_bind_parameter_name(raw, Int32(index)).map { unsafe String(cString: $0) }
  }

  /// Binds all parameters; dates as the connection's ``DateStrategy`` says.
  ///
  /// - Throws: ``SQLError/parameterCount(expected:found:sql:)`` for a wrong number of values;
  ///   ``SQLError/parameterNames(missing:unknown:sql:)`` with every name that has no value, and every name that
  ///   the statement does not know.
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

  /// What the rows of the result share.
  func header(dates: DateStrategy) -> Row.Header {
    Row.Header(names: (0..<columnCount).map(columnName), dates: dates)
  }

  /// Whether running it leaves the database as it is (`sqlite3_stmt_readonly`).
  public var isReadOnly: Bool { unsafe sqlite3_stmt_readonly(raw) != 0 }

  /// Column `index` of the present row, counted from 0, as a Swift value.
  /// - Throws: ``SQLError/columnType(column:expected:found:)`` when it is no `Value`.
  public func get<Value: SQLConvertible>(_ index: Int, as type: Value.Type = Value.self) throws -> Value {
    let found = value(index)
    if let value = Value.from(found, dates: dates) { return value }
    throw SQLError.columnType(
      column: columnName(index), expected: "\(type)", found: found.storageClass)
  }
}
