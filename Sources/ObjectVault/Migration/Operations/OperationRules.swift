// The protocols that every operation of a migration implements. Each operation is a small value in a file
// of this folder with all its rules: text, effect on a model, effect on the file, rollback. The file must
// implement the requirements that have no default. MigrationOperation+Rules maps each case to its value.

internal import CipherSQLite

/// The rules of an operation, for the code that compiles, runs, checks and rolls back steps.
///
/// Every operation is a ``TableOperation``, a ``DataOperation`` or a ``CompositeOperation``.
protocol OperationRules: Sendable {
  /// How lines of a migration file are parsed to the operation.
  static var forms: [OperationForm] { get }
  /// The operation in the canonical spelling of a migration file, from which checksums are computed.
  var text: OperationText { get }
  /// What the operation changes, under the names before it.
  var subject: OperationSubject { get }
  /// Facts that lint, backups and compilation need.
  var traits: OperationTraits { get }
  /// What runs for the operation.
  var work: OperationWork { get }

  /// Applies the operation to a model. The caller checks names in inheritance hierarchies and renames in
  /// raw objects.
  func change(_ model: inout Schema) throws(ModelError)
  /// Whether the operation needs a segment of its own, because it reads or changes something that the
  /// preceding operations of the segment have yet to produce: see ``SegmentMapping``.
  /// - Parameter model: The model before this operation.
  func needsOwnSegment(after mapping: SegmentMapping, in model: Schema) -> Bool
  /// Records in `mapping` where the values of columns come from. Changes of names follow from
  /// ``subject``.
  /// - Parameter model: The model before this operation.
  func fill(_ mapping: inout SegmentMapping, in model: Schema) throws(ModelError)
  /// The operations that undo this one, applied to the model after it.
  /// - Parameters:
  ///   - model: The model before this operation.
  ///   - mapping: How the step has mapped names so far.
  func rollback(from model: Schema, _ mapping: SegmentMapping) -> MigrationRollback

  /// The function of the app that it calls; nil for none.
  var function: AppFunction? { get }
  /// The type that existing values must already have, where the operation keeps them unchanged;
  /// nil otherwise.
  var fittingType: AttributeType? { get }
  /// The entity whose rows a forecast counts even if its table is not rebuilt, because the rows get an
  /// index, or because they or their links move; nil for none.
  var indexedEntity: String? { get }
  /// Whether some checks of the operation on rows can only be made by the run itself, and not by a plan.
  var refusesLate: Bool { get }
  /// The statement that the engine lacks to change the table in place, as in `SQLite 3.15.2 has no DROP
  /// COLUMN`; nil if it lacks none.
  func missingStatement(_ engine: Engine) -> String?
  /// What an author must review when the operation was generated as a proposal; nil for nothing.
  func advice(in model: Schema) -> String?
  /// The findings of lint about the operation.
  func remarks(_ place: OperationContext) -> [OperationRemark]
}

// Defaults for requirements that few operations need.
extension OperationRules {
  var function: AppFunction? { nil }
  var fittingType: AttributeType? { nil }
  var indexedEntity: String? { nil }
  var refusesLate: Bool { false }
  func missingStatement(_ engine: Engine) -> String? { nil }
  func advice(in model: Schema) -> String? { nil }
  func remarks(_ place: OperationContext) -> [OperationRemark] { [] }
}

/// What runs for an operation.
enum OperationWork {
  /// The statements that turn the tables of the model before into those of the model after.
  case tables
  /// The parts of a composite operation.
  case parts(any CompositeOperation)
  /// SQL written by the step's author, and what the author declares that it reads and writes.
  case data(String, TransformAccess)
  /// A function of the app that is called with objects.
  case transform(SwiftTransform)
  /// A query by the step's author that must return true.
  case require(String, query: String)
}

/// An operation that changes the model and with it the tables. MigrationCompiler derives the statements
/// from the tables before and after.
protocol TableOperation: OperationRules {}

extension TableOperation {
  var work: OperationWork { .tables }
}

/// An operation on rows, which leaves the model unchanged.
protocol DataOperation: OperationRules {}

extension DataOperation {
  var subject: OperationSubject { .rows }
  var refusesLate: Bool { true }
  func change(_ model: inout Schema) throws(ModelError) {}
  // A data operation is never part of a segment.
  func needsOwnSegment(after mapping: SegmentMapping, in model: Schema) -> Bool { false }
  func fill(_ mapping: inout SegmentMapping, in model: Schema) throws(ModelError) {}
}

/// Facts about an operation that lint, backups and compilation need.
struct OperationTraits {
  /// Whether it overwrites values with what its author's SQL or Swift computes, or moves rows and values so
  /// that a rollback cannot find all of them. Then the store is copied first.
  let rewritesValues: Bool
  /// Whether a relationship may have an inverse afterwards that it did not declare itself.
  let completesInverses: Bool
  /// Whether a program with the model before would read or write something that no longer exists, or would
  /// have writes refused.
  let breaksReaders: Bool
  /// Whether it contains SQL written by a person, which is tried in an empty database first:
  /// see ``SQLTrial``.
  let hasForeignSQL: Bool
}
