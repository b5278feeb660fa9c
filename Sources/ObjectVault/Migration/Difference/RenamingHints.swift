// What classes say of former names, and which renamings that makes: the hints stay in a class when they have served.

/// The hints of one class, beside the properties that its entity has in the steps; or those of a schema, beside the entities of
/// the steps.
struct RenamingHints {
  /// The entity whose properties they are of; nil where they are of entities.
  private let entity: String?
  /// The names of the classes.
  private let names: [String]
  /// The names that the steps have.
  private let former: Set<String>
  private let hints: [String: String]
  /// What is to be renamed, in an order in which each new name is free.
  private(set) var renamings: [MigrationRenaming] = []
  /// What two names say of one former name: what is to be renamed, and what cannot be beside it.
  private(set) var contradictions: [(renaming: MigrationRenaming, other: MigrationRenaming)] = []

  /// Those of the properties of a class.
  init(_ entity: EntityDescription, _ binding: any EntityBinding, former: [String]) {
    self.init(of: entity.name, entity.propertyNames, former: former) { binding.formerName(of: $0) }
  }

  /// Those of the entities of a schema.
  init(_ schema: Schema, former: [String]) {
    self.init(of: nil, schema.entities.map(\.name), former: former) {
      schema.bindings[$0]?.formerEntityName
    }
  }

  private init(of entity: String?, _ names: [String], former: [String], hint: (String) -> String?) {
    (self.entity, self.names, self.former) = (entity, names, Set(former))
    let former = self.former
    let told = names.compactMap { name in hint(name).map { (name, $0) } }
    // Of what has never been there, or is there no more, nothing comes.
    hints = Dictionary(told.filter { $0 != $1 && former.contains($1) }) { first, _ in first }
    for name in names where !former.contains(name) { follow(from: name) }
  }

  private func renaming(_ old: String, to new: String) -> MigrationRenaming {
    entity.map { .property(entity: $0, old, to: new) } ?? .entity(old, to: new)
  }

  /// A name that is new takes its values from where its hint says; the name that becomes free so may have one, too.
  private mutating func follow(from name: String) {
    var name = name
    while let old = hints[name] {
      let next = renaming(old, to: name)
      if let other = renamings.first(where: { $0.renamesSame(as: next) }) {
        if other != next { contradictions.append((next, other)) }
        return
      }
      renamings.append(next)
      // A name that stays with another hint to it is taken up anew; one that goes leaves its values to whoever says so.
      guard names.contains(old), leadsOut(old) else { return }
      name = old
    }
  }

  /// Whether the hints lead from a name to one that leaves the class: all between have moved on by one then. In a circle, and
  /// where the last one stays, that may have been done already.
  private func leadsOut(_ name: String) -> Bool {
    var (name, seen): (String, Set<String>) = (name, [])
    while names.contains(name), seen.insert(name).inserted {
      guard let next = hints[name] else { return false }
      name = next
    }
    return !names.contains(name)
  }

  /// What nobody can tell from a renaming that has been done: both names are there, and the former one leaves the class, or
  /// says of itself that it was another one, too.
  /// - Parameter told: What somebody has said.
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
  /// What classes say of former names and nobody can tell from what has been done.
  /// - Parameters:
  ///   - model: That of the steps, its entities by their new names: see ``renamingEntities(_:beside:)``.
  ///   - told: What somebody has said of it.
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

  /// What somebody has said, and the renamings of entities that this schema says by ``Entity/renamed(from:)``. Those of
  /// properties are looked for once their entities have their new names.
  func renamings(_ told: [MigrationRenaming], from model: Schema) -> [MigrationRenaming] {
    let hinted = RenamingHints(self, former: model.entities.map(\.name)).renamings
    return hinted.filter { !told.contains($0) } + told
  }

  /// Refuses what the schema says of former names where two names were one, and where somebody says otherwise.
  /// - Parameters:
  ///   - model: That of the steps.
  ///   - renamed: The same, its entities by their new names.
  ///   - told: What somebody has said, and what the schema says of entities.
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

  /// This model with its entities called as somebody says, and their properties as they were.
  func renamingEntities(_ told: [MigrationRenaming], beside new: Schema) -> Schema {
    var model = self
    let entities = told.filter(\.isOfEntity)
    for renaming in MigrationRenaming.inOrder(entities, beside: allNames.union(new.allNames)) {
      // What does not fit has been refused, or is left out of the operations as well.
      try? renaming.operation(in: model)?.apply(to: &model)
    }
    return model
  }
}

extension MigrationRenaming {
  /// Renamings in an order in which each new name is free; where names are exchanged, by way of a name that nobody has.
  /// Entities go first, as properties are told by the new names of theirs.
  ///
  /// Of several with one former name, or one new name, the first counts: ``MigrationSet/proposal(for:renaming:)`` refuses them.
  /// - Parameter taken: The names of the models.
  static func inOrder(_ renamings: [MigrationRenaming], beside taken: Set<String>) -> [MigrationRenaming] {
    var rest: [MigrationRenaming] = []
    for next in renamings where !rest.contains(where: { $0.collides(with: next) }) { rest.append(next) }
    return ordered(rest.filter(\.isOfEntity), beside: taken)
      + ordered(rest.filter { !$0.isOfEntity }, beside: taken)
  }

  /// - Parameter renamings: All of entities, or all of properties, and no two that collide.
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
      // Each former name is there once, and each new one: what is left are circles, and this opens one.
      var spare = "\(first.oldName)Before"
      while taken.contains(spare.lowercased()) { spare += "2" }
      ordered.append(first.renamed(from: first.oldName, to: spare))
      rest[0] = first.renamed(from: spare, to: first.newName)
    }
    return ordered
  }

  /// Whether both rename the same, or to the same.
  func collides(with other: MigrationRenaming) -> Bool { renamesSame(as: other) || target == other.target }

  /// Whether both rename the same.
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

  // Names are compared without regard to case, as the engine does.
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
  /// All names of entities and properties, in lower case.
  var allNames: Set<String> {
    Set(entities.flatMap { [$0.name] + $0.propertyNames }.map { $0.lowercased() })
  }
}
