// The SQL of a fetch with its bindings, as the compiler makes it.

public import CipherSQLite

/// The SQL of a fetch, with the values that are bound to its question marks.
public struct CompiledFetch: Sendable, Hashable {
  /// The SQL of the statement.
  ///
  /// If it uses functions or collations that the store registers, such as `vault_fold` for a comparison
  /// that ignores case, the shell cannot run it; ``description`` lists them.
  public internal(set) var text: String
  /// The bound values, in the order of the question marks.
  public internal(set) var bindings: [SQLValue]
  /// The plan that the statement was made from.
  let plan: FetchPlan
  /// The form in which the store runs the query for whole rows.
  var form: ScanForm { plan.form }
  /// How the store runs the statement, which has no effect on the result.
  ///
  /// Whole rows are mostly passed to a function inside the engine, which the shell does not have; in the
  /// shell, ``text`` finds the same rows.
  public var execution: Execution { Execution(form) }

  /// How a fetch reads the rows of its statement.
  public enum Execution: Sendable, Hashable {
    /// Row by row, with the statement as it is.
    case stepped
    /// With this text, which passes the rows to a function one after another. The statement itself
    /// returns none of their values.
    case handedOver(String)
    /// As `handedOver(_:)`, with a large table shared by two connections.
    ///
    /// If a second connection is free, it reads a part of the rows at the same time.
    case split(String)
    /// With this text, which finds the ids by an index alone.
    ///
    /// The rows are then looked up in the order of their ids, by a second statement in the same snapshot,
    /// and passed to the function. A fetch is run in this way if the last fetch of its shape found many
    /// scattered rows.
    case idsFirst(String)
    /// With the ids of a list, which are sorted and passed to the engine; the engine passes their rows to
    /// the function.
    case listed

    init(_ form: ScanForm) {
      self =
        switch form {
        case .stepped: .stepped
        case .handedOver(let text), .placed(let text): .handedOver(text)
        case .split(let text, _): .split(text)
        case .listed: .listed
        case .late(let lookup, let form): lookup.isUsed ? .idsFirst(lookup.ids.text) : Execution(form)
        }
    }
  }
}

extension CompiledFetch {
  /// Returns whether both have the same statement and values.
  ///
  /// How a fetch is run may change at any time, and is not compared.
  public static func == (one: CompiledFetch, other: CompiledFetch) -> Bool {
    one.text == other.text && one.bindings == other.bindings
  }

  /// Hashes the statement and the values.
  public func hash(into hasher: inout Hasher) {
    hasher.combine(text)
    hasher.combine(bindings)
  }
}

extension CompiledFetch: CustomStringConvertible {
  /// The statement with its values inserted, which can be pasted into the shell.
  ///
  /// Comments below the statement list each bound value, how the statement is run, and what the statement
  /// uses that the shell does not have.
  public var description: String {
    let lines = bindings.enumerated().map { "-- value \($0.offset + 1) = \($0.element.literal)" }
    let statement = SQLTemplate.filled(text, with: bindings.map(\.literal))
    let own = ownNames.isEmpty ? [] : ["-- not in the sqlcipher shell: \(ownNames.joined(separator: ", "))"]
    return (["\(statement);"] + lines + ["-- \(execution)"] + own).joined(separator: "\n")
  }

  /// The store's functions and collations that the text uses. Values are bound and not part of the text,
  /// so no value is listed. A property whose name contains `vault_` would be listed, too.
  private var ownNames: [String] {
    Set(text.matches(of: /vault_[a-z_]+/).map { String($0.output) }).sorted()
  }
}

extension CompiledFetch.Execution: CustomStringConvertible {
  /// A short description, without the text.
  public var description: String {
    switch self {
    case .stepped: "run row by row"
    case .handedOver: "the store passes the columns of each row to a function of its own"
    case .split:
      "the store passes the columns of each row to a function of its own, on two connections if the table is large"
    case .listed:
      "the store gives the ids to SQLite, and passes the columns of each row to a function of its own"
    case .idsFirst: "run in two statements: first the ids from an index alone, then the rows by their ids"
    }
  }
}

/// The value of a question mark.
struct Binding {
  var value: SQLValue
  /// The index of the captured value that is bound unchanged; nil for other values.
  var source: Int?
}

extension SQL {
  /// Returns a question mark with its value.
  static func bound(_ value: SQLValue, source: Int? = nil) -> SQL { "\(value: value, number: source)" }

  /// The values of the question marks, in order.
  var bindings: [Binding] {
    var bindings = values.map { Binding(value: $0.sqlValue(dates: .secondsSince1970)) }
    for (place, number) in replaceable.places { bindings[place].source = number }
    return bindings
  }

  /// The value of the only question mark.
  var boundValue: SQLValue? { values.first?.sqlValue(dates: .secondsSince1970) }
}
