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
      guard names.contains(old), let next = hints[old], !names.contains(next) else { return }
      name = old
    }
  }

  /// What nobody can tell from a renaming that has been done: both names are there, and the former one leaves the class, or
  /// says of itself that it was another one, too.
  /// - Parameter told: What somebody has said.
  func doubts(beside told: [MigrationRenaming]) -> [String] {
    names.compactMap { name in
      let isTold = told.contains { $0.collides(with: .property(entity: entity, hints[name] ?? "", to: name)) }
      guard !isTold, former.contains(name), let old = hints[name],
        !renamings.contains(where: { $0.new == name }),
        !names.contains(old) || hints[old] != nil
      else { return nil }
      return
        "\(entity).\(name) says that it was \(entity).\(old), and the steps have both. Where that has been done, take .renamed(from: "
        + "\"\(old)\") out of the class; where not, say so for each that is called otherwise now: --rename \(entity).\(old)=\(name)"
    }
  }
}

extension Schema {
  /// What classes say of former names and nobody can tell from what has been done.
  /// - Parameters:
  ///   - model: That of the steps.
  ///   - told: What somebody has said of it.
  func renamingDoubts(from model: Schema, beside told: [MigrationRenaming] = []) -> [String] {
    entities.flatMap { entity -> [String] in
      guard let binding = bindings[entity.name], let former = model.entity(named: entity.name) else {
        return []
      }
      return RenamingHints(entity, binding, former: former.propertyNames).doubts(beside: told)
    }
  }
}

extension MigrationRenaming {
  /// Renamings in an order in which each new name is free; where names are exchanged, by way of a name that nobody has.
  ///
  /// Of several with one former name, or one new name, the first counts: ``MigrationSet/proposal(for:renaming:)`` refuses them.
  /// - Parameter taken: The names of the models.
  static func inOrder(_ renamings: [MigrationRenaming], beside taken: Set<String>) -> [MigrationRenaming] {
    var rest: [MigrationRenaming] = []
    for next in renamings where !rest.contains(where: { $0.collides(with: next) }) { rest.append(next) }
    var ordered: [MigrationRenaming] = []
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
  func collides(with other: MigrationRenaming) -> Bool { source == other.source || target == other.target }

  private var oldName: String {
    switch self {
    case .entity(let name, _), .property(_, let name, _): name
    }
  }

  private var newName: String {
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
