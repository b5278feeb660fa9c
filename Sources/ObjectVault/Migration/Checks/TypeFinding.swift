// A finding of `TypeCheck`: faults in a column.

internal import CipherSQLite

/// The rows with a fault in one column.
struct TypeFinding: Equatable, CustomStringConvertible {
  enum Fault {
    /// A value is not of the column's type.
    case value
    /// A row of the entity lacks a required value.
    case missing
    /// A row of another entity in the same table has a value.
    case foreign
  }

  let entity: String
  let property: String
  let expected: String
  let bad: Int
  let total: Int
  /// The ids of the first rows with the fault.
  let rows: [Int64]
  var fault = Fault.value
  /// The name of the column in a step, if it is not ``property`` of ``entity``: the positions of the
  /// members of a to-many may be stored in the members' rows.
  var written: String?

  var description: String {
    let place = written ?? "\(entity).\(property)"
    let has = bad == 1 ? "has" : "have"
    let what =
      switch fault {
      case .value:
        "\(bad) of \(counted(total, "value")) of \(place) \(bad == 1 ? "is" : "are") invalid (expected: "
          + "\(expected))"
      case .missing:
        "\(bad) of \(counted(total, "object")) of \(entity) \(has) no \(entity).\(property), which is required"
      case .foreign:
        "\(bad) of \(counted(total, "row")) of other entities \(has) a value in \(place); set it to NULL, or "
          + "correct _entity"
      }
    let rowEntity = written.map { _ in "\(entity) " } ?? ""
    return "\(what): \(rowEntity)row\(bad == 1 ? "" : "s") "
      + rows.map(String.init).joined(separator: ", ") + (bad > rows.count ? " and more" : "")
  }
}
