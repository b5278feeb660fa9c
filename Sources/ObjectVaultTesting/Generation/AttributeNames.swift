// Names of attributes that a test writes down, held against those that there are: values for a mistyped one would be given to
// nothing, and nobody would be told.

internal import CipherSQLite
internal import ObjectVault

/// The attributes of the versions of a model, by `Entity.attribute`.
struct AttributeNames {
  static let advice = "A property is written Entity.attribute, by the names of the version that is filled."

  private let models: [Schema]
  private let known: Set<String>

  init(_ models: [Schema]) {
    self.models = models
    known = Set(
      models.flatMap { model in
        model.entities.flatMap { entity in entity.attributes.map { "\(entity.name).\($0.name)" } }
      })
  }

  /// What is wrong with names that something is given for, a sentence each.
  /// - Parameter setting: How a test has given it, such as `lab.values`.
  func faults(_ names: some Collection<String>, _ setting: String) -> [String] {
    names.sorted().filter { !known.contains($0) }.map { name in
      let parts = name.split(separator: ".", maxSplits: 1).map(String.init)
      // Objects of those below it hold the same values.
      if let owner = parts.count == 2 ? owner(of: parts[1], inheritedBy: parts[0]) : nil {
        return "\(setting)[\"\(name)\"]: \(parts[0]) inherits it; say it of \(owner).\(parts[1])"
      }
      let which = models.count == 1 ? "the model has no" : "no version of the model has an"
      return "\(setting)[\"\(name)\"]: \(which) attribute of this name\(Self.meant(by: name, among: known))"
    }
  }

  private func owner(of attribute: String, inheritedBy name: String) -> String? {
    for model in models.reversed() {
      guard let entity = model.entity(named: name) else { continue }
      let owner = model.ancestors(of: entity).last { $0.attribute(named: attribute) != nil }
      if let owner { return owner.name }
    }
    return nil
  }

  /// What may have been meant by a name; without a near one, all that there are.
  static func meant(by name: String, among known: Set<String>) -> String {
    if let question = didYouMean(nearest(name, among: known.sorted())) { return "; \(question)" }
    let shown = known.sorted().prefix(12)
    return known.isEmpty
      ? "" : "; there are \(shown.joined(separator: ", "))\(known.count > shown.count ? " and more" : "")"
  }
}
