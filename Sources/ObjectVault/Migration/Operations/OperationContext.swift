// Where an operation stands in a step, for those who look at it before it is released: the rules of each operation are in its
// file.

/// What a reviewer would ask of an operation, and the code of the rule.
typealias OperationRemark = (rule: MigrationFinding.Rule, text: String)

/// The surroundings of an operation in its step.
struct OperationContext {
  let step: MigrationStep
  /// The model before the step.
  let before: Schema
  /// The model before the operation.
  let model: Schema
  /// The entities that the step made, which have no objects yet.
  let new: Set<String>
  /// What entities were called before.
  let former: FormerNames
  let earlier: ArraySlice<MigrationOperation>
  let later: ArraySlice<MigrationOperation>

  func existed(_ entity: String) -> Bool { !new.contains(entity) }

  /// Whether programs that do not know the step may open the store.
  var hasOlderReaders: Bool { step.reader < step.number }

  /// Whether SQL or Swift of the step's author has looked at a property before.
  func isTransformed(_ name: String) -> Bool {
    earlier.contains { operation in
      let rules = operation.rules
      switch rules.work {
      case .data(let sql, _): return rules.traits.rewritesValues && sql.contains(".\(name)")
      case .transform(let transform):
        return transform.writes?.contains { $0.property == nil || $0.property == name } ?? true
      case .tables, .parts, .require: return false
      }
    }
  }
}
