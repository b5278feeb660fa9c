// SQL text with its bindings, as the compiler makes it.

public import CipherSQLite

/// The SQL of a fetch, with the values bound to its question marks.
public struct CompiledFetch: Sendable, Hashable {
  /// The statement. Where it calls what the store brings along, such as `vault_fold` for a comparison without regard to case, a
  /// shell cannot run it; ``description`` says so.
  public internal(set) var text: String
  /// The values, in the order of the question marks.
  public internal(set) var bindings: [SQLValue]
  /// What it was made by.
  let plan: FetchPlan
  /// The same for whole rows, as they are fetched.
  var form: ScanForm { plan.form }
  /// How the store runs the statement. What it finds is the same.
  ///
  /// Whole rows are mostly handed over inside of the engine, to functions that a shell has not: there ``text`` finds them.
  public var execution: Execution { Execution(form) }

  /// How a fetch goes through the rows of its statement.
  public enum Execution: Sendable, Hashable {
    /// Row by row, by the statement as it is.
    case stepped
    /// By this text, whose function is handed the rows one after another: no row comes out of the statement.
    case handedOver(String)
    /// The same; of a large table a second connection reads a part of the ids at the same time, where one is free.
    case split(String)
    /// By this text, which an index answers without the rows. They are then looked up in the order of their ids, by a second
    /// statement in the same snapshot, and are handed over as the others are. A fetch is run so where the last one of its
    /// shape has found many rows that lie apart.
    case idsFirst(String)
    /// The ids of a list are sorted and fed to the engine, which hands over their rows.
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
  /// Whether both are one statement with the same values. How a fetch is run may change from one moment to the next, and is no
  /// part of what it is.
  public static func == (one: CompiledFetch, other: CompiledFetch) -> Bool {
    one.text == other.text && one.bindings == other.bindings
  }

  /// Of what is compared.
  public func hash(into hasher: inout Hasher) {
    hasher.combine(text)
    hasher.combine(bindings)
  }
}

extension CompiledFetch: CustomStringConvertible {
  /// The statement with its values in their places, as a person can paste it into the shell; below it, as comments, each value that
  /// is bound, how it is run, and what of the store it calls that a shell has not.
  public var description: String {
    let lines = bindings.enumerated().map { "-- ?\($0.offset + 1) = \($0.element.literal)" }
    let statement = SQLTemplate.filled(text, with: bindings.map(\.literal))
    let own = ownNames.isEmpty ? [] : ["-- a shell has not: \(ownNames.joined(separator: ", "))"]
    return (["\(statement);"] + lines + ["-- \(execution)"] + own).joined(separator: "\n")
  }

  /// The functions and collations of the store that the text names. Nothing else begins so: no name of a model may, and values are
  /// bound.
  private var ownNames: [String] {
    Set(text.matches(of: /vault_[a-z]+/).map { String($0.output) }).sorted()
  }
}

extension CompiledFetch.Execution: CustomStringConvertible {
  /// In a few words, without the text.
  public var description: String {
    switch self {
    case .stepped: "run row by row"
    case .handedOver: "run with the rows handed over inside of the engine"
    case .split: "run with the rows handed over inside of the engine, of a large table by two connections"
    case .listed: "run with the ids fed to the engine, and the rows handed over inside of it"
    case .idsFirst: "run in two statements: the ids by an index alone, then the rows by their ids"
    }
  }
}

/// A value behind a question mark.
struct Binding {
  var value: SQLValue
  /// The captured value that it is, unchanged, of those given to the compiler.
  var source: Int?
}

extension SQL {
  /// A question mark with its value.
  static func bound(_ value: SQLValue, source: Int? = nil) -> SQL { "\(value: value, number: source)" }

  /// The values of the question marks, in order.
  var bindings: [Binding] {
    var bindings = values.map { Binding(value: $0.sqlValue(dates: .secondsSince1970)) }
    for (place, number) in replaceable.places { bindings[place].source = number }
    return bindings
  }

  /// The value of a single question mark.
  var boundValue: SQLValue? { values.first?.sqlValue(dates: .secondsSince1970) }
}
