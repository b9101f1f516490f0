package vec

const maxPath = 100
