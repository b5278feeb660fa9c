// The context of an operation in its step, for lint. The lint rules of each operation are in the
// operation's file.

/// A finding about an operation, with the code of its rule.
typealias OperationRemark = (rule: MigrationFinding.Rule, text: String)

/// An operation's surroundings: its step, the models before them, and the step's other operations.
struct OperationContext {
  let step: MigrationStep
  /// The model before the step.
  let before: Schema
  /// The model before the operation.
  let model: Schema
  /// The entities that the step created, which have no objects yet.
  let new: Set<String>
  /// The former names of entities.
  let former: FormerNames
  let earlier: ArraySlice<MigrationOperation>
  let later: ArraySlice<MigrationOperation>

  func existed(_ entity: String) -> Bool { !new.contains(entity) }

  /// Whether older programs, without the step, may open the store.
  var hasOlderReaders: Bool { step.reader < step.number }

  /// Whether an earlier operation may have written a property with SQL or Swift of the step's author.
  func isTransformed(_ name: String) -> Bool {
    earlier.contains { operation in
      let rules = operation.rules
      switch rules.work {
      case .data(let sql, _):
        return rules.traits.rewritesValues && SQLTemplate.words(sql).contains(name.lowercased())
      case .transform(let transform):
        return transform.writes?.contains { $0.property == nil || $0.property == name } ?? true
      case .tables, .parts, .require: return false
      }
    }
  }
}
