// What lint finds: the rules, by codes that stay, and a finding of one.

/// Something in a step that a person should look at before it is released.
public struct MigrationFinding: Sendable, Hashable, Codable {
  /// A rule, by its code.
  public enum Rule: String, Sendable, Codable, CaseIterable {
    /// An entity is dropped with all its objects, and the step's `allow` does not say so.
    case dropsEntity = "L101"
    /// A property is dropped with all its values, and the step's `allow` does not say so.
    case dropsProperty = "L102"
    /// Values of a wider type go into a narrower one.
    case narrows = "L103"
    /// The step's `allow` names what it does not lose.
    case allowsNoLoss = "L104"
    /// A property becomes required, and nothing says what those have that lack it.
    case requiresWithoutFilling = "L201"
    /// What is there has to be unique from now on.
    case uniqueOnExisting = "L202"
    /// Of many one is left.
    case severalToOne = "L203"
    /// A property is dropped and one like it added in the same step.
    case mayBeRenaming = "L301"
    /// A class says what a property was called before, and a step has renamed it since.
    case renamingIsDone = "L302"
    /// The head calls the step by a name that its file has not.
    case namedOtherwise = "L303"
    /// A to-many has links of its own, where a to-one leads back that may be meant as its other end.
    case mayBePaired = "L304"
    /// An engine that cannot drop a column copies a whole table.
    case rebuildsTable = "L401"
    /// An index goes with an attribute that an entity inherits from then on.
    case losesIndex = "L403"
    /// Nothing leads back, and `[down]` does not say why.
    case irreversible = "L501"
    /// Values are rewritten, and nothing asks whether they came out right.
    case transformsUnchecked = "L502"
    /// Views, triggers or indexes in SQL call an entity by its plain name, which no renaming follows.
    case rawNamesPlain = "L503"
    /// A trigger writes rows, and nobody who holds them in memory hears of it.
    case triggerWrites = "L504"
    /// SQL writes rows of an entity with a parent, and does not say that they are of that one.
    case namesNoEntity = "L505"
    /// SQL has a name in a text that an entity had before.
    case namesFormerly = "L506"
    /// A step is not what was released; only the tool finds this, by its lock file.
    case editsReleased = "L601"
    /// `reader` lets programs open the store that do not know what the step changed.
    case readerTooOld = "L602"

    /// Whether it is about time or order, and not about what may be lost or fail.
    public var isNote: Bool {
      switch self {
      case .namedOtherwise, .mayBePaired, .rebuildsTable, .losesIndex, .irreversible, .renamingIsDone,
        .triggerWrites:
        true
      default: false
      }
    }

    /// Whether it can be broken by a step that meets no rows.
    var holdsWithoutRows: Bool {
      switch self {
      case .namedOtherwise, .mayBePaired, .rawNamesPlain, .triggerWrites, .namesNoEntity, .namesFormerly: true
      default: false
      }
    }
  }

  /// Which rule.
  public let rule: Rule
  /// The step's number.
  public let step: Int
  /// The step's file.
  public let file: String
  /// The line of the file at which the operation begins, counted from 1; nil where it is about the step as a whole, and for
  /// steps that were not parsed from a text.
  public let line: Int?
  /// The operation, in one line; nil where it is about the step as a whole.
  public let operation: String?
  /// What is so, and what to write.
  public let text: String

  package init(rule: Rule, step: Int, file: String, line: Int? = nil, operation: String?, text: String) {
    (self.rule, self.step, self.file, self.line) = (rule, step, file, line)
    (self.operation, self.text) = (operation, text)
  }
}

extension MigrationFinding: CustomStringConvertible {
  /// The file and line as compilers write them, the rule's code, the operation, and what is so.
  public var description: String {
    file + (line.map { ":\($0)" } ?? "") + ": \(rule.rawValue) " + (operation.map { "\($0): " } ?? "") + text
  }
}
