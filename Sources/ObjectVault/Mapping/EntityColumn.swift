// The column that names the entity of a row, in tables that several entities share.

/// The column with the name of each row's entity, in a table that several entities share.
package enum EntityColumn {
  /// The column's name. Property names never begin with an underscore.
  package static let name = "_entity"
}
