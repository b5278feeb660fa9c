// A fault that a check of a file's columns found.

internal import CipherSQLite

/// The values of a column that its type cannot hold.
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
  /// The ids of the first rows.
  let rows: [Int64]
  var fault = Fault.value
  /// The name of the column in a step, where it is not ``property`` of ``entity``: the places of members
  /// are stored in rows of the entity at the other end.
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
