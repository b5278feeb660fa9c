// The former names that classes declare (hints), and the renamings that follow from these. A hint remains
// in its class after the renaming was done.

/// The hints of one class, compared with the entity's properties in the steps; or the hints of a schema,
/// compared with the entities in the steps.
struct RenamingHints {
  /// The entity of the properties; nil for hints about entities.
  private let entity: String?
  /// The names in the classes.
  private let names: [String]
  /// The names in the steps.
  private let former: Set<String>
  private let hints: [String: String]
  /// The renamings, in an order in which each new name is unused at its renaming.
  private(set) var renamings: [MigrationRenaming] = []
  /// Renamings of one former name to two new ones: the refused renaming, and the one that it contradicts.
  private(set) var contradictions: [(renaming: MigrationRenaming, other: MigrationRenaming)] = []

  /// Creates the hints about the properties of a class.
  init(_ entity: EntityDescription, _ binding: any EntityBinding, former: [String]) {
    self.init(of: entity.name, entity.propertyNames, former: former) { binding.formerName(of: $0) }
  }

  /// Creates the hints about the entities of a schema.
  init(_ schema: Schema, former: [String]) {
    self.init(of: nil, schema.entities.map(\.name), former: former) {
      schema.bindings[$0]?.formerEntityName
    }
  }

  private init(of entity: String?, _ names: [String], former: [String], hint: (String) -> String?) {
    (self.entity, self.names, self.former) = (entity, names, Set(former))
    let former = self.former
    let told = names.compactMap { name in hint(name).map { (name, $0) } }
    // A hint has no effect if the steps do not have the former name.
    hints = Dictionary(told.filter { $0 != $1 && former.contains($1) }) { first, _ in first }
    for name in names where !former.contains(name) { follow(from: name) }
  }

  private func renaming(_ old: String, to new: String) -> MigrationRenaming {
    entity.map { .property(entity: $0, old, to: new) } ?? .entity(old, to: new)
  }

  /// Follows the hints from a new name, which gets the values of its former name. The former name then is
  /// unused, and may get values by a hint of its own.
  private mutating func follow(from name: String) {
    var name = name
    while let old = hints[name] {
      let next = renaming(old, to: name)
      if let other = renamings.first(where: { $0.renamesSame(as: next) }) {
        if other != next { contradictions.append((next, other)) }
        return
      }
      renamings.append(next)
      // If the class no longer has the former name, the chain of hints ends here. Otherwise the former
      // name gets values by its own hint, if the chain ends at a name that the class no longer has.
      guard names.contains(old), endsOutsideClass(old) else { return }
      name = old
    }
  }

  /// Whether the chain of hints from a name ends at a name that the class no longer has. If so, each name
  /// of the chain gets the values of the next one. If not (the chain is a cycle, or the class still has
  /// the name at its end), these renamings may have been done already.
  private func endsOutsideClass(_ name: String) -> Bool {
    var (name, seen): (String, Set<String>) = (name, [])
    while names.contains(name), seen.insert(name).inserted {
      guard let next = hints[name] else { return false }
      name = next
    }
    return !names.contains(name)
  }

  /// Returns the hints whose renaming may have been done already: the steps have both names, and the
  /// class does not have the former name, or has it with a hint.
  /// - Parameter told: The stated renamings. A hint that these cover is not returned.
  func doubts(beside told: [MigrationRenaming]) -> [RenamingDoubt] {
    names.compactMap { name in
      guard former.contains(name), let old = hints[name],
        !renamings.contains(where: { $0.newName == name }),
        !names.contains(old) || hints[old] != nil
      else { return nil }
      let doubt = renaming(old, to: name)
      return told.contains { $0.collides(with: doubt) } ? nil : RenamingDoubt(renaming: doubt)
    }
  }
}

extension Schema {
  /// Returns the hints, of the schema and of its classes, whose renaming may have been done already.
  /// - Parameters:
  ///   - model: The model of the steps, with the new names of entities: see
  ///     ``renamingEntities(_:beside:)``.
  ///   - told: The stated renamings.
  func renamingDoubts(from model: Schema, beside told: [MigrationRenaming] = []) -> [RenamingDoubt] {
    let ofEntities = RenamingHints(self, former: model.entities.map(\.name)).doubts(beside: told)
    return ofEntities
      + entities.flatMap { entity -> [RenamingDoubt] in
        guard let binding = bindings[entity.name], let former = model.entity(named: entity.name) else {
          return []
        }
        return RenamingHints(entity, binding, former: former.propertyNames).doubts(beside: told)
      }
  }

  /// Returns the stated renamings, and those of entities that this schema declares by
  /// ``Entity/renamed(from:)``. Declared renamings of properties are found later, when the entities have
  /// their new names.
  func renamings(_ told: [MigrationRenaming], from model: Schema) -> [MigrationRenaming] {
    let hinted = RenamingHints(self, former: model.entities.map(\.name)).renamings
    return hinted.filter { !told.contains($0) } + told
  }

  /// Refuses two hints with one former name, and hints that contradict a stated renaming.
  /// - Parameters:
  ///   - model: The model of the steps.
  ///   - renamed: The model of the steps, with the new names of entities.
  ///   - told: The stated renamings, and those of entities that the schema declares.
  func checkHints(from model: Schema, _ renamed: Schema, beside told: [MigrationRenaming]) throws(StoreError)
  {
    let ofProperties = entities.compactMap { entity -> RenamingHints? in
      guard let binding = bindings[entity.name], let former = renamed.entity(named: entity.name) else {
        return nil
      }
      return RenamingHints(entity, binding, former: former.propertyNames)
    }
    for hints in [RenamingHints(self, former: model.entities.map(\.name))] + ofProperties {
      if let (hint, other) = hints.contradictions.first { throw hint.contradiction(to: other) }
      for hint in hints.renamings {
        guard let other = told.first(where: { $0 != hint && $0.collides(with: hint) }) else { continue }
        throw other.contradiction(to: hint)
      }
    }
  }

  /// Returns this model with the new names of entities; its properties do not change.
  func renamingEntities(_ told: [MigrationRenaming], beside new: Schema) -> Schema {
    var model = self
    let entities = told.filter(\.isOfEntity)
    for renaming in MigrationRenaming.inOrder(entities, beside: allNames.union(new.allNames)) {
      // A renaming that does not fit is skipped: ``MigrationSet/proposal(for:renaming:)`` has refused it
      // before, or ``SchemaDifference`` skips it, too.
      try? renaming.operation(in: model)?.apply(to: &model)
    }
    return model
  }
}

extension MigrationRenaming {
  /// Returns the renamings in an order in which each new name is unused at its renaming; an exchange of
  /// names uses a temporary name. Entities come first, because renamings of properties have the new names
  /// of entities. Of several renamings with one former or one new name, only the first is returned:
  /// ``MigrationSet/proposal(for:renaming:)`` refuses the others.
  /// - Parameter taken: The names in the models, in lower case.
  static func inOrder(_ renamings: [MigrationRenaming], beside taken: Set<String>) -> [MigrationRenaming] {
    var rest: [MigrationRenaming] = []
    for next in renamings where !rest.contains(where: { $0.collides(with: next) }) { rest.append(next) }
    return ordered(rest.filter(\.isOfEntity), beside: taken)
      + ordered(rest.filter { !$0.isOfEntity }, beside: taken)
  }

  /// Orders renamings.
  /// - Parameter renamings: Renamings of entities only, or of properties only, without two that collide.
  private static func ordered(_ renamings: [MigrationRenaming], beside taken: Set<String>)
    -> [MigrationRenaming]
  {
    var (rest, ordered): ([MigrationRenaming], [MigrationRenaming]) = (renamings, [])
    while let first = rest.first {
      if let index = rest.firstIndex(where: { next in
        !rest.contains { $0 != next && $0.source == next.target }
      }) {
        ordered.append(rest.remove(at: index))
        continue
      }
      // Former and new names are unique, so only cycles are left. A temporary name opens a cycle.
      var spare = "\(first.oldName)Before"
      while taken.contains(spare.lowercased()) { spare += "2" }
      ordered.append(first.renamed(from: first.oldName, to: spare))
      rest[0] = first.renamed(from: spare, to: first.newName)
    }
    return ordered
  }

  /// Whether both renamings have one former name, or one new name.
  func collides(with other: MigrationRenaming) -> Bool { renamesSame(as: other) || target == other.target }

  /// Whether both renamings have one former name.
  func renamesSame(as other: MigrationRenaming) -> Bool { source == other.source }

  var isOfEntity: Bool { if case .entity = self { true } else { false } }

  var oldName: String {
    switch self {
    case .entity(let name, _), .property(_, let name, _): name
    }
  }

  var newName: String {
    switch self {
    case .entity(_, let name), .property(_, _, let name): name
    }
  }

  // Names are compared in lower case, because the engine ignores case.
  private var source: String { place + oldName.lowercased() }
  private var target: String { place + newName.lowercased() }
  private var place: String {
    if case .property(let entity, _, _) = self { entity.lowercased() + "." } else { "" }
  }

  private func renamed(from old: String, to new: String) -> MigrationRenaming {
    switch self {
    case .entity: .entity(old, to: new)
    case .property(let entity, _, _): .property(entity: entity, old, to: new)
    }
  }
}

extension Schema {
  /// The names of all entities and properties, in lower case.
  var allNames: Set<String> {
    Set(entities.flatMap { [$0.name] + $0.propertyNames }.map { $0.lowercased() })
  }
}
