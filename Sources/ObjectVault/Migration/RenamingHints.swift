// What classes say of former names, and which renamings that makes: the hints stay in a class when they have served.

/// The hints of one class, beside the properties that its entity has in the steps.
struct RenamingHints {
  private let entity: String
  /// The names of the class.
  private let names: [String]
  /// The names that the entity has.
  private let former: Set<String>
  private let hints: [String: String]
  /// What is to be renamed, in an order in which each new name is free.
  private(set) var renamings: [(old: String, new: String)] = []

  init(_ entity: EntityDescription, _ binding: any EntityBinding, former: [String]) {
    (self.entity, names, self.former) = (entity.name, entity.propertyNames, Set(former))
    let former = self.former
    let told = names.compactMap { name in binding.formerName(of: name).map { (name, $0) } }
    // Of what the entity has never had, or has no more, nothing comes.
    hints = Dictionary(told.filter { $0 != $1 && former.contains($1) }) { first, _ in first }
    for name in names where !former.contains(name) { follow(from: name) }
  }

  /// A name that is new takes its values from where its hint says; the name that becomes free so may have one, too.
  private mutating func follow(from name: String) {
    var name = name
    while let old = hints[name], !renamings.contains(where: { $0.old == old }) {
      renamings.append((old, name))
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
      let isTold = told.contains { $0.collides(with: .property(entity: entity, hints[name] ?? "", to: name)) }
      guard !isTold, former.contains(name), let old = hints[name],
        !renamings.contains(where: { $0.new == name }),
        !names.contains(old) || hints[old] != nil
      else { return nil }
      return RenamingDoubt(entity: entity, old: old, new: name)
    }
  }
}

extension Schema {
  /// What classes say of former names and nobody can tell from what has been done.
  /// - Parameters:
  ///   - model: That of the steps, its entities by their new names: see ``renamingEntities(_:beside:)``.
  ///   - told: What somebody has said of it.
  func renamingDoubts(from model: Schema, beside told: [MigrationRenaming] = []) -> [RenamingDoubt] {
    entities.flatMap { entity -> [RenamingDoubt] in
      guard let binding = bindings[entity.name], let former = model.entity(named: entity.name) else {
        return []
      }
      return RenamingHints(entity, binding, former: former.propertyNames).doubts(beside: told)
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
