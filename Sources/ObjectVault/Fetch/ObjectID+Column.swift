// Columns of ids.

internal import CipherSQLite

extension ObjectID: ColumnValue {
  /// Creates a column of ids. Each id carries the identity of the store, except for temporary ids.
  public static func makeColumn(of origin: ColumnOrigin) -> ResultColumn<ObjectID> {
    let make = { (id: Int64) in ObjectID(rowID: id, of: id < 0 ? origin.temporary : origin.store) }
    let column = ResultColumn(
      placeholder: { make(0) }, row: { $0.integer($1).map(make) },
      value: { value in
        guard case .integer(let id) = value else { return nil }
        return make(id)
      })
    return column.sendable { makeColumn(of: origin) }
  }
}
