// Former names of entities. They matter in string literals of SQL, such as `_entity = 'User'`: a renaming
// changes the placeholders in SQL (`$User`), but no literals.

/// The former names of entities after some steps.
struct FormerNames {
  /// For each former name, the present name of the entity (nil if it no longer exists), and the number of
  /// the step that last renamed, merged or dropped the entity.
  private var names: [String: (now: String?, step: Int)] = [:]

  init() {}

  /// Collects the former names after some steps.
  init(_ steps: some Sequence<MigrationStep>) {
    for step in steps { for operation in step.operations { follow(operation, of: step.number) } }
  }

  mutating func follow(_ operation: MigrationOperation, of step: Int) {
    switch operation.subject {
    case .renamedEntity(let name, let new):
      names[new] = nil
      becomes(name, now: new, since: step)
    case .droppedEntity(let name): becomes(name, now: nil, since: step)
    case .mergedEntity(let name, let new): becomes(name, now: new, since: step)
    case .madeEntity(let entity): names[entity.name] = nil
    case .changedEntity, .movedEntity, .made, .dropped, .renamed, .changed, .moved, .madeIndex,
      .droppedIndex, .rawObject, .parts, .rows:
      break
    }
  }

  /// Records that from a step on, no row has the name of an entity. The rows now have the name `new`; nil
  /// if the entity no longer exists.
  private mutating func becomes(_ name: String, now new: String?, since step: Int) {
    replace(name, by: new, since: step)
    names[name] = (new, step)
  }

  private mutating func replace(_ name: String, by new: String?, since step: Int) {
    for (former, entry) in names where entry.now == name { names[former] = (new, step) }
  }

  /// Returns why a string is not the name of an entity, and what to write: for a former name, and for a
  /// string that differs from a present name only in case. Nil for a present name and for other strings.
  func reason(_ text: String, in model: Schema) -> String? {
    guard model.entity(named: text) == nil else { return nil }
    if let entry = names[text] {
      guard let now = entry.now else {
        return "'\(text)' has not been an entity since step \(numbered(entry.step))"
      }
      return
        "'\(text)' became \(now) in step \(numbered(entry.step)), so no row has '\(text)'; write: '\(now)'"
    }
    let other = model.entities.first { $0.name.lowercased() == text.lowercased() }?.name
    return other.map {
      "'\(text)' is not an entity: strings are compared with regard to case; write: '\($0)'"
    }
  }
}
