// What says of a row of which entity it is, where several share a table.

/// The column of a table that the rows of several entities lie in, with the name of that of each row.
package enum EntityColumn {
  /// No property begins with an underscore.
  package static let name = "_entity"
}
