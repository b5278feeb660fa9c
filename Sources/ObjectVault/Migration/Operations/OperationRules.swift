// What is asked of every operation of a migration. Each is a small value in a file of this folder, with all that is known of it:
// text, meaning on a model, what it does to the file, its way back. What is asked here without an answer below has to be
// answered there, or it does not compile. Which value stands for which case is in MigrationOperation+Rules.

internal import CipherSQLite

/// An operation as those see it who compile, run, check and take back steps.
///
/// It is one of three: ``TableOperation``, ``DataOperation`` or ``CompositeOperation``.
protocol OperationRules: Sendable {
  /// How it is read.
  static var forms: [OperationForm] { get }
  /// How a migration file writes it, in the one spelling that checksums know.
  var text: OperationText { get }
  /// What it is about, and what that is called afterwards.
  var subject: OperationSubject { get }
  /// What others have to know of it.
  var traits: OperationTraits { get }
  /// What runs for it.
  var work: OperationWork { get }

  /// Does to a model what it does. Names in families and in raw objects are looked at around it.
  func change(_ model: inout Schema) throws(ModelError)
  /// Whether it reads or changes what the operations behind which it stands have yet to make: see ``SegmentMapping``.
  /// - Parameter model: The model before it.
  func needsOwnRun(behind mapping: SegmentMapping, in model: Schema) -> Bool
  /// Says where columns come from, where that is more than a name which its ``subject`` tells.
  /// - Parameter model: The model before it.
  func fill(_ mapping: inout SegmentMapping, in model: Schema) throws(ModelError)
  /// What takes it back, on the model after it.
  /// - Parameters:
  ///   - model: The model before it.
  ///   - mapping: What its step has made of the names so far.
  func wayBack(from model: Schema, _ mapping: SegmentMapping) -> MigrationWayBack

  /// The function of the app that it calls.
  var function: AppFunction? { get }
  /// The type that values which it takes as they are have to be of; nil where it takes none so.
  var fittingType: AttributeType? { get }
  /// The entity whose rows get an index, or move their links, where its table may stay as it is otherwise.
  var indexedEntity: String? { get }
  /// Whether rows are asked for more than can be asked before it runs.
  var refusesLate: Bool { get }
  /// What an engine lacks to do it in place, as in `SQLite 3.15.2 has no DROP COLUMN`.
  func missingStatement(_ engine: Engine) -> String?
  /// What has to be looked at before it is used where it was proposed.
  func advice(in model: Schema) -> String?
  /// What a reviewer would ask.
  func remarks(_ place: OperationContext) -> [OperationRemark]
}

// What few have to say anything about, and nothing of which is an answer as well.
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
  /// What leads from the tables of the model before to those of the model after.
  case tables
  /// What it stands for.
  case parts(any CompositeOperation)
  /// SQL that its author wrote, and what the author says of it.
  case data(String, TransformAccess)
  /// A function of the app, with objects.
  case transform(SwiftTransform)
  /// A question of its author's, whose answer must be true.
  case require(String, query: String)
}

/// An operation that changes the model, and the tables with it: MigrationCompiler compares them before and after.
protocol TableOperation: OperationRules {}

extension TableOperation {
  var work: OperationWork { .tables }
}

/// An operation on rows, which leaves the model as it is.
protocol DataOperation: OperationRules {}

extension DataOperation {
  var subject: OperationSubject { .rows }
  var refusesLate: Bool { true }
  func change(_ model: inout Schema) throws(ModelError) {}
  // It is in no run with others.
  func needsOwnRun(behind mapping: SegmentMapping, in model: Schema) -> Bool { false }
  func fill(_ mapping: inout SegmentMapping, in model: Schema) throws(ModelError) {}
}

/// What others have to know of an operation.
struct OperationTraits {
  /// Whether it puts values that its author's SQL or Swift computes in the place of others, or moves rows and values to
  /// where a way back does not find all of them: a copy of the store is made before.
  let rewritesValues: Bool
  /// Whether a relationship may have an inverse afterwards that does not say so itself.
  let completesInverses: Bool
  /// Whether a program of the model before would read or write what is no more.
  let breaksReaders: Bool
  /// Whether it has SQL that a person wrote, which is tried before any store meets it: see ``SQLTrial``.
  let hasForeignSQL: Bool
}
