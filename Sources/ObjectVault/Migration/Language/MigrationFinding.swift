// The findings of the lint, with its rules, whose codes never change.

/// A place in a step that a person should review before the step is released.
public struct MigrationFinding: Sendable, Hashable, Codable {
  /// A lint rule. Its raw value is the code that reports print.
  public enum Rule: String, Sendable, Codable, CaseIterable {
    /// The step drops an entity with all its objects, and the step's `allow` does not list the entity.
    case dropsEntity = "L101"
    /// The step drops a property with all its values, and the step's `allow` does not list the property.
    case dropsProperty = "L102"
    /// The step converts values to a type for which some of them may be invalid.
    case narrows = "L103"
    /// The step's `allow` lists a loss that the step does not cause.
    case allowsNoLoss = "L104"
    /// The step adds a required property, makes a property required, or lets an entity inherit a required
    /// one, and gives no value to objects that lack one.
    case requiresWithoutFilling = "L201"
    /// Existing values have to be unique after the step.
    case uniqueOnExisting = "L202"
    /// A to-many becomes a to-one: if an object has several links, the step keeps the one that `picking`
    /// selects, or fails without `picking`.
    case severalToOne = "L203"
    /// The step drops a property and adds a similar one; a renaming may be intended.
    case mayBeRenaming = "L301"
    /// A class declares the former name of a property, or the schema declares that of an entity, although
    /// a step has already done the renaming.
    case renamingIsDone = "L302"
    /// The header gives the step a name that differs from the name of its file.
    case namedOtherwise = "L303"
    /// A to-many without an inverse stores its own links, although its destination has a to-one to its
    /// owner. That to-one may be intended as the inverse.
    case mayBePaired = "L304"
    /// With an engine that cannot drop a column, the step copies a whole table.
    case rebuildsTable = "L401"
    /// An index is lost because the entity inherits the indexed attribute after the step.
    case losesIndex = "L403"
    /// The step cannot be rolled back, and its `[down]` does not give a reason.
    case irreversible = "L501"
    /// The step rewrites values, and no `require` checks the result.
    case transformsUnchecked = "L502"
    /// A view, trigger or index names an entity without `$`, so a renaming does not change it.
    case rawNamesPlain = "L503"
    /// A trigger writes rows without notifying objects in memory.
    case triggerWrites = "L504"
    /// SQL writes rows of an entity with a parent, but does not name that entity: an INSERT without the
    /// column `_entity`, or an UPDATE or DELETE without WHERE.
    case namesNoEntity = "L505"
    /// SQL has a former name of an entity in a string literal.
    case namesFormerly = "L506"
    /// A released step was edited. Only the tool finds this: it compares the step with its lock file.
    case editsReleased = "L601"
    /// `reader` allows older programs to open the store, although the step makes a change that they do
    /// not support.
    case readerTooOld = "L602"

    /// Whether the finding is for information, and not about a possible loss of data or a failure.
    public var isNote: Bool {
      switch self {
      case .namedOtherwise, .mayBePaired, .rebuildsTable, .losesIndex, .irreversible, .renamingIsDone,
        .triggerWrites:
        true
      default: false
      }
    }

    /// Whether the rule also applies to a step that runs on a store without rows.
    var holdsWithoutRows: Bool {
      switch self {
      case .namedOtherwise, .mayBePaired, .rawNamesPlain, .triggerWrites, .namesNoEntity, .namesFormerly: true
      default: false
      }
    }
  }

  /// The rule.
  public let rule: Rule
  /// The number of the step.
  public let step: Int
  /// The name of the step's file.
  public let file: String
  /// The line of the file at which the operation begins, counted from 1; nil for a finding about the
  /// whole step, and for a step that was not parsed from a text.
  public let line: Int?
  /// The operation in one line; nil for a finding about the whole step.
  public let operation: String?
  /// What was found, and what to write instead.
  public let text: String

  package init(rule: Rule, step: Int, file: String, line: Int? = nil, operation: String?, text: String) {
    (self.rule, self.step, self.file, self.line) = (rule, step, file, line)
    (self.operation, self.text) = (operation, text)
  }
}

extension MigrationFinding: CustomStringConvertible {
  /// The file and line in the form that compilers use, the rule's code, the operation and the text.
  public var description: String {
    file + (line.map { ":\($0)" } ?? "") + ": \(rule.rawValue)\(rule.isNote ? " (note)" : "") "
      + (operation.map { "\($0): " } ?? "") + text
  }
}
