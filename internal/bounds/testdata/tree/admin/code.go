package admin

// MaxOfAnother has the name of a bound in gateway.
const MaxOfAnother = 1
