// What a store of an earlier format becomes before its steps: the columns of links get the names of what they hold.

internal import CipherSQLite

/// The change of a file's format.
struct FormatChange {
  /// The store's model, which stays as it is.
  let model: Schema
  /// The tables as the file has them.
  let former: StoreLayout
  /// How messages call it.
  static let title = "the change of the file's format"

  /// nil for a file that has the present format.
  init?(of model: Schema, format: Int) {
    guard format < FileFormat.current else { return nil }
    (self.model, former) = (model, model.layout(format: format))
  }

  /// What runs, in order.
  var statements: [CompiledStatement] {
    MigrationCompiler(engine: .current, before: model, after: model, mapping: SegmentMapping(model))
      .linkStatements()
  }
}
